"""A client of TensorFlow Serving and of the development server: gRPC or REST, and no TensorFlow."""
