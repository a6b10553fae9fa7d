"""The papers behind the formulations: their figures and tables made again, beside numbers recomputed independently."""
