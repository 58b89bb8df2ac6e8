import litellm

messages = [{"role": "user", "content": "Hi"}]
for model in ("openai/gpt-4.1", "anthropic/claude-sonnet-4-5"):
    print(litellm.completion(model=model, messages=messages).choices[0].message.content)
