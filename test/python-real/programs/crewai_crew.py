from crewai import Agent, Crew, Task

for model in ("openai/gpt-4.1", "anthropic/claude-sonnet-4-5"):
    agent = Agent(role="Helper", goal="Greet", backstory="Friendly", llm=model)
    task = Task(description="Say hi", expected_output="A greeting", agent=agent)
    print(Crew(agents=[agent], tasks=[task]).kickoff().raw)
