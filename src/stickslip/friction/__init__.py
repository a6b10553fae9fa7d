"""One step's contact problem, and the formulations of friction that turn it into a mathematical problem."""
