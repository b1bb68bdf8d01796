"""The figures and tables of the papers, computed again: beside the published and the model's."""
