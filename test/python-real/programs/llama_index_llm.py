from llama_index.llms.anthropic import Anthropic
from llama_index.llms.openai import OpenAI

print(OpenAI(model="gpt-4.1").complete("Hi").text)
print(Anthropic(model="claude-sonnet-4-5").complete("Hi").text)
