"""A graph without calls, loops and branches, made of a traced function and all that it calls.

A loop's body stands in it once, and so does each branch. Each node knows in which of them it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

OPAQUE = "Exit"
"""Has shape and element shapes of its input, whose value shape inference does not look at."""


@dataclass(eq=False)
class Scope:
    """What runs as one: the function itself, the body of a loop, or a branch.

    Attributes:
        parent: in which it stands; None for the function.
        choice: of a branch, what the branches of one choice have in common.
    """

    parent: Scope | None = None
    choice: str | None = None


@dataclass(eq=False)
class LoopBody(Scope):
    """A loop's body.

    Attributes:
        condition: the tensor that says whether it runs once more.
        enters: what each variable is at first.
        carried: what stands for it in the body; `enters` itself, where the loop keeps it.
        leaves: what the body makes of it.
    """

    condition: str = ""
    enters: list[str] = field(default_factory=list)
    carried: list[str] = field(default_factory=list)
    leaves: list[str] = field(default_factory=list)


@dataclass
class FlatGraph:
    """Nodes by name, whose inputs are `name:number`; and where each stands.

    Attributes:
        after_loops: a tensor after a loop → the loop and the number of its variable.
    """

    nodes: dict[str, Any] = field(default_factory=dict)
    scopes: dict[str, Scope] = field(default_factory=dict)
    loops: list[LoopBody] = field(default_factory=list)
    after_loops: dict[str, tuple[LoopBody, int]] = field(default_factory=dict)

    def node_of(self, tensor: str) -> Any:
        """The node that makes it."""
        return self.nodes[tensor.rpartition(":")[0]]

    def add(self, node: Any, *, beside: str) -> None:
        """Adds a node where another one stands."""
        self.nodes[node.name], self.scopes[node.name] = node, self.scopes[beside]

    def ancestors(self, names: Iterable[str]) -> set[str]:
        """The names, and those of all nodes that these need."""
        pending, found = [*names], set[str]()
        while pending:
            if (name := pending.pop()) not in found:
                found.add(name)
                pending.extend(each.rpartition(":")[0] for each in self.nodes[name].input)
        return found

    def needs(self, tensor: str, name: str) -> bool:
        """A tensor is computed from what this node makes."""
        return name in self.ancestors([tensor.rpartition(":")[0]])
