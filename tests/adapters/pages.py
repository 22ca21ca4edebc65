"""What a reader of docs/adapters.md has already: a dataset, two models, and options of Inspect."""

from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model

dataset = MemoryDataset([Sample(input=f"question {i}", target="yes") for i in range(20)])
eval_options = {"display": "none", "ctl_server": False, "log_level": "critical", "log_dir": "logs"}


def _model(known):
    """Knows the first so many of the questions."""

    def answer(messages, tools, tool_choice, config):
        number = int(messages[-1].text.split()[1])
        output = ModelOutput.from_content("mockllm", "yes" if number < known else "no")
        output.usage = ModelUsage()  # else Inspect counts tokens, with a table from the network
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


short_prompt, long_prompt = _model(6), _model(17)
