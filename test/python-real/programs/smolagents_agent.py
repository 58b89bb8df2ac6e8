from smolagents import LiteLLMModel, OpenAIModel, ToolCallingAgent

for model in (OpenAIModel(model_id="gpt-4.1"), LiteLLMModel(model_id="anthropic/claude-sonnet-4-5")):
    print(ToolCallingAgent(tools=[], model=model, verbosity_level=0).run("Hi"))
