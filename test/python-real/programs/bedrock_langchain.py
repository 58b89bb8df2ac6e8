import os

from langchain_aws import ChatBedrockConverse

os.environ["AWS_ACCESS_KEY_ID"] = os.environ["OPENAI_API_KEY"]
os.environ["AWS_SECRET_ACCESS_KEY"] = "any"
model = ChatBedrockConverse(
    model="us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    region_name="us-east-1",
    endpoint_url=os.environ["ANTHROPIC_BASE_URL"],
    max_tokens=100,
)
print(model.invoke("Hi").text)
print("".join(chunk.text for chunk in model.stream("Hi")))
