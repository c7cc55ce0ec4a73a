"""The mathematics of P(X | parents): links, fits, exact expectations and their derivatives."""
