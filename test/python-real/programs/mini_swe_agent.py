from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel

for model in ("openai/gpt-4.1", "anthropic/claude-sonnet-4-5"):
    agent = DefaultAgent(
        LitellmModel(model_name=model, cost_tracking="ignore_errors"),
        LocalEnvironment(),
        system_template="You are a helper.",
        instance_template="{{task}}",
    )
    print(agent.run("Say hi")["submission"])
