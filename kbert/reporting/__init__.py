"""Reports for people: HTML pages and pictures of runs, the page of the quickstart, tables of seeds."""
