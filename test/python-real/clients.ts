/** A Python client, and how often it says "Hello you" when it works. */
export interface PythonClient {
  name: string;
  /** Pinned: what a client reads from the environment changes from one version to the next. */
  packages: readonly string[];
  /** A file in programs/, or the words of a command in the client's `bin`. */
  program: string | readonly [string, ...string[]];
  answers: number;
}

const ANTHROPIC = 'anthropic==2.12.0';
/** LiteLLM imports it for requests with tools, and doesn't require it. */
const LITELLM_NEEDS = 'mcp==2.3.0';

export const PYTHON_CLIENTS: readonly PythonClient[] = [
  ...['1.109.1', '2.54.0', '3.54.0'].map((version) => ({
    name: `openai ${version}`,
    packages: [`openai==${version}`],
    program: 'openai_sdk.py',
    answers: 3,
  })),
  ...['0.125.0', '1.17.0', '2.12.0'].map((version) => ({
    name: `anthropic ${version}`,
    packages: [`anthropic==${version}`],
    program: 'anthropic_sdk.py',
    answers: 2,
  })),
  {
    name: 'langchain',
    packages: ['langchain-openai==1.7.3', 'langchain-anthropic==1.7.7'],
    program: 'langchain_chat.py',
    answers: 3,
  },
  {
    name: 'langgraph',
    packages: ['langgraph==1.2.22', 'langchain-openai==1.7.3'],
    program: 'langgraph_agent.py',
    answers: 2,
  },
  { name: 'google-genai', packages: ['google-genai==3.6.1'], program: 'google_genai.py', answers: 4 },
  { name: 'litellm', packages: ['litellm==1.106.2'], program: 'litellm_sdk.py', answers: 2 },
  { name: 'boto3', packages: ['boto3==1.44.8'], program: 'bedrock_boto3.py', answers: 4 },
  {
    name: 'litellm, Bedrock',
    packages: ['litellm==1.106.2', 'boto3==1.44.8'],
    program: 'bedrock_litellm.py',
    answers: 4,
  },
  { name: 'langchain-aws', packages: ['langchain-aws==1.9.1'], program: 'bedrock_langchain.py', answers: 2 },
  {
    name: 'pydantic-ai',
    packages: ['pydantic-ai-slim[openai,anthropic]==2.68.0'],
    program: 'pydantic_ai_agent.py',
    answers: 3,
  },
  { name: 'dspy', packages: ['dspy==3.4.1'], program: 'dspy_predict.py', answers: 2 },
  {
    name: 'llama-index',
    // It breaks on anthropic 1 and 2.
    packages: [
      ...['llama-index-llms-openai==0.8.3', 'llama-index-llms-anthropic==0.12.3', 'anthropic==0.125.0'],
    ],
    program: 'llama_index_llm.py',
    answers: 2,
  },
  {
    name: 'instructor',
    packages: ['instructor==1.17.0', ANTHROPIC],
    program: 'instructor_model.py',
    answers: 2,
  },
  {
    name: 'smolagents',
    packages: ['smolagents[openai,litellm]==1.26.0', LITELLM_NEEDS],
    program: 'smolagents_agent.py',
    answers: 2,
  },
  { name: 'openai-agents', packages: ['openai-agents==0.24.0'], program: 'openai_agents.py', answers: 1 },
  { name: 'crewai', packages: ['crewai[anthropic]==1.15.30'], program: 'crewai_crew.py', answers: 2 },
  {
    name: 'mini-swe-agent',
    packages: ['mini-swe-agent==2.4.6', LITELLM_NEEDS],
    program: 'mini_swe_agent.py',
    answers: 2,
  },
  {
    name: 'aider',
    packages: ['aider-chat==0.86.2'],
    program: [
      ...(['aider', '--message', 'hi', '--dry-run', '--no-git', '--no-check-update'] as const),
      ...['--analytics-disable', '--map-tokens', '0', '--yes-always', '--no-show-model-warnings'],
      ...['--model', 'anthropic/claude-sonnet-4-5'],
    ],
    answers: 1,
  },
  { name: 'llm', packages: ['llm==0.36'], program: ['llm', '-m', 'gpt-4.1', 'hi'], answers: 1 },
];
