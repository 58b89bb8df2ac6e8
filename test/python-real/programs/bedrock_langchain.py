import os

from langchain_aws import ChatBedrockConverse

os.environ["AWS_BEARER_TOKEN_BEDROCK"] = os.environ["OPENAI_API_KEY"]
model = ChatBedrockConverse(
    model="us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    region_name="us-east-1",
    endpoint_url=os.environ["ANTHROPIC_BASE_URL"],
    max_tokens=100,
)
print(model.invoke("Hi").text)
print("".join(chunk.text for chunk in model.stream("Hi")))
