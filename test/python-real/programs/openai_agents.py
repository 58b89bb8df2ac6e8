from agents import Agent, Runner

print(Runner.run_sync(Agent(name="helper", model="gpt-4.1"), "Hi").final_output)
