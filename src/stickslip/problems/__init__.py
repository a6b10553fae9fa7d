"""See the modules; the public names are exported by `stickslip` itself."""
