import { chunkBody, completionBody, usageOf } from '../../support/chat-shapes.ts';
import { respond, type Script } from '../../support/scripts.ts';
import { type Event, either } from './event-scripts.ts';

/** What a prompt says so that the model runs a command. */
export const USE_TOOL = 'Please run the command';
/** What the command prints; nobody has written it before it ran. */
export const PRINTED = 'marker-42';
const COMMAND = 'echo marker-$((40+2))';

const SHELLS = /^(exec_command|bash|execute_command|run_commands?|run_terminal_command|shell)$/i;

interface Asked {
  tools?: { function: { name: string } }[];
  messages?: unknown[];
}

/**
 * A provider with chat completions alone: it runs a command with the program's own tool where the prompt asks for it,
 * tells what that printed, and else says "Hello you".
 */
export const agentScript: Script = async (exchange) => {
  if (!exchange.request.path.startsWith('/v1/chat/completions')) {
    await respond(404, { 'content-type': 'text/plain' }, '404 page not found')(exchange);
    return;
  }
  const asked = JSON.parse((await exchange.body).toString()) as Asked;
  const text = JSON.stringify(asked.messages);
  const shell = asked.tools?.map((tool) => tool.function.name).find((name) => SHELLS.test(name));
  const hasResult = text.includes('"role":"tool"');
  const calls = shell !== undefined && text.includes(USE_TOOL) && !hasResult;
  await (calls ? call(shell) : say(text.includes(PRINTED) ? `It says ${PRINTED}` : 'Hello you'))(exchange);
};

function say(content: string): Script {
  return answer({ role: 'assistant', content, refusal: null }, { role: 'assistant', content }, 'stop');
}

function call(name: string): Script {
  // Each program has its own name for the command.
  const args = { command: COMMAND, cmd: COMMAND, commands: [COMMAND], description: 'Run it' };
  const only = /^run_commands?$/.test(name)
    ? { commands: args.commands }
    : name === 'exec_command'
      ? { cmd: COMMAND }
      : { command: COMMAND, description: args.description };
  const tool = { id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(only) } };
  const message = { role: 'assistant', content: null, refusal: null, tool_calls: [tool] };
  return answer(message, { role: 'assistant', tool_calls: [{ index: 0, ...tool }] }, 'tool_calls');
}

function answer(message: object, delta: object, finish_reason: string): Script {
  const usage = usageOf(20, 5);
  const chunks: object[] = [
    chunkBody('test-model', { delta }),
    chunkBody('test-model', { finish_reason }),
    chunkBody('test-model', undefined, { usage }),
  ];
  const list: Event[] = [...chunks.map((chunk): Event => ['', chunk]), ['', '[DONE]']];
  return either(completionBody('test-model', '', usage, { message, finish_reason }), list);
}
