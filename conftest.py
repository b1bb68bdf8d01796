"""What the tests and the benchmarks share."""

pytest_plugins = ["plug_options"]
