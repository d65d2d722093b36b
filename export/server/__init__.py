"""The development server: two APIs, gRPC and REST, in front of the versions of SavedModels."""
