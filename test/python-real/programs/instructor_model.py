import instructor
from pydantic import BaseModel


class Greeting(BaseModel):
    text: str


for model in ("openai/gpt-4.1", "anthropic/claude-sonnet-4-5"):
    client = instructor.from_provider(model)
    answer = client.create(
        response_model=Greeting, max_tokens=100, messages=[{"role": "user", "content": "Hi"}]
    )
    print(answer.text)
