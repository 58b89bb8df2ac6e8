from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI

print(ChatOpenAI(model="gpt-4.1").invoke("Hi").content)
print("".join(chunk.text if isinstance(chunk.text, str) else chunk.text() for chunk in ChatOpenAI(model="gpt-4.1").stream("Hi")))
print(ChatAnthropic(model="claude-sonnet-4-5").invoke("Hi").content)
