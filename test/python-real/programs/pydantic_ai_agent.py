from pydantic_ai import Agent

for model in ("openai:gpt-4.1", "openai-chat:gpt-4.1", "anthropic:claude-sonnet-4-5"):
    print(Agent(model).run_sync("Hi").output)
