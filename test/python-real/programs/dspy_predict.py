import dspy

for model in ("openai/gpt-4.1", "anthropic/claude-sonnet-4-5"):
    dspy.configure(lm=dspy.LM(model, cache=False))
    print(dspy.Predict("question -> answer")(question="Hi").answer)
