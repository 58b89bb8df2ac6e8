"""An agent with a name and a tool: its answers are sent back with messages[].name."""
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent


def say(text: str) -> str:
    """Says a text."""
    return text


for model in ("gpt-4.1", "claude-sonnet-4-5"):
    agent = create_react_agent(ChatOpenAI(model=model), [say], name="helper")
    print(agent.invoke({"messages": [("user", "Hi")]})["messages"][-1].content)
