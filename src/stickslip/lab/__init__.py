"""The browser lab. See the modules; `stickslip.view` opens it."""
