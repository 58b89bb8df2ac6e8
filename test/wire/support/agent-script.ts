import { chunkBody, completionBody, usageOf } from '../../support/chat-shapes.ts';
import { respond, type Script } from '../../support/scripts.ts';
import { type Event, either } from './event-scripts.ts';

/** A prompt with this text makes the model run a command. */
export const USE_TOOL = 'Please run the command';
/** The output of the command, which appears nowhere before the command runs. */
export const COMMAND_OUTPUT = 'marker-42';
const COMMAND = 'echo marker-$((40+2))';

const SHELLS = /^(exec_command|bash|execute_command|run_commands?|run_terminal_command|shell)$/i;

interface ChatRequest {
  tools?: { function: { name: string } }[];
  messages?: unknown[];
}

/**
 * A provider with chat completions only. If the prompt requests it, it calls the program's shell tool and repeats the
 * output; otherwise it answers "Hello you".
 */
export const agentScript: Script = agentScriptWith(() => 20);

/** The same, with as many input tokens as it is told of the prompt. */
export function agentScriptWith(inputTokensOf: (messages: readonly unknown[]) => number): Script {
  return async (exchange) => {
    if (!exchange.request.path.startsWith('/v1/chat/completions')) {
      await respond(404, { 'content-type': 'text/plain' }, '404 page not found')(exchange);
      return;
    }
    const request = JSON.parse((await exchange.body).toString()) as ChatRequest;
    const text = JSON.stringify(request.messages);
    const shell = request.tools?.map((tool) => tool.function.name).find((name) => SHELLS.test(name));
    const hasResult = text.includes('"role":"tool"');
    const calls = shell !== undefined && text.includes(USE_TOOL) && !hasResult;
    const inputTokens = inputTokensOf(request.messages ?? []);
    await (calls
      ? call(shell, inputTokens)
      : say(text.includes(COMMAND_OUTPUT) ? `It says ${COMMAND_OUTPUT}` : 'Hello you', inputTokens))(
      exchange,
    );
  };
}

function say(content: string, inputTokens: number): Script {
  const delta = { role: 'assistant', content };
  return answer({ ...delta, refusal: null }, delta, 'stop', inputTokens);
}

function call(name: string, inputTokens: number): Script {
  // The tool's parameters differ from program to program.
  const args = { command: COMMAND, cmd: COMMAND, commands: [COMMAND], description: 'Run it' };
  const only = /^run_commands?$/.test(name)
    ? { commands: args.commands }
    : name === 'exec_command'
      ? { cmd: COMMAND }
      : { command: COMMAND, description: args.description };
  const tool = { id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(only) } };
  const message = { role: 'assistant', content: null, refusal: null, tool_calls: [tool] };
  return answer(
    message,
    { role: 'assistant', tool_calls: [{ index: 0, ...tool }] },
    'tool_calls',
    inputTokens,
  );
}

function answer(message: object, delta: object, finish_reason: string, inputTokens: number): Script {
  const usage = usageOf(inputTokens, 5);
  const chunks: object[] = [
    chunkBody('test-model', { delta }),
    chunkBody('test-model', { finish_reason }),
    chunkBody('test-model', undefined, { usage }),
  ];
  const list: Event[] = [...chunks.map((chunk): Event => ['', chunk]), ['', '[DONE]']];
  return either(completionBody('test-model', '', usage, { message, finish_reason }), list);
}
