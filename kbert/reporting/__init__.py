"""What a person looks at when a run is over: curves as a picture, the quickstart as one page."""
