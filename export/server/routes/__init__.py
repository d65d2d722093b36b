"""The paths by whose clients ask them: thin translations to the same `Service`."""
