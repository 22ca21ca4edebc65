"""The beginning of a script that counts, by Numba's own account, what it compiles."""

COUNT_COMPILATIONS = """
import json
import numba.core.event as events

class Counter(events.Listener):
    count = 0
    def on_start(self, event):
        self.count += 1
    def on_end(self, event):
        pass

counter = Counter()
events.register("numba:compile", counter)
"""
