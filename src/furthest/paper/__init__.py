"""The paper again, and what it left open: one entry per table and figure, over one runner.

Jourdan & Degenne (2022), "Choosing Answers in ε-Best-Answer Identification for Linear Bandits".
An entry says what is simulated and how it is shown (`entries`); the runner makes the runs that are
not stored yet (`runner`, `store`); the report sets them beside the print (`claims`, `report`).
"""
