"""How figures are shown in a notebook: colours, pieces of HTML, matplotlib's figures."""
