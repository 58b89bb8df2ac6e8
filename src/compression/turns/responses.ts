import { callOf, objectOf, type Place, type Turn, turnOf } from './turn.ts';

const TEXTS: readonly unknown[] = ['input_text', 'output_text', 'text'];
const isText = (type: unknown) => TEXTS.includes(type);

/** Reads an input item of a response: https://platform.openai.com/docs/api-reference/responses/create */
export function responsesTurns(item: unknown): Turn[] {
  const {
    type = 'message',
    id,
    role,
    content,
    call_id,
    name,
    arguments: args,
    input,
    output,
  } = objectOf(item);
  switch (type) {
    case 'message': {
      // Calls follow as later items, so an assistant message may stand beside calls: it stays as it is.
      const about = role === 'assistant' ? { role, tool_calls: [] } : { role };
      return [turnOf(content, ['content'], { isText, about })];
    }
    case 'function_call':
    case 'custom_tool_call':
      return [
        {
          message: { role: 'assistant', content: null, tool_calls: [callOf(call_id, name, args ?? input)] },
          places: [],
        },
      ];
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [turnOf(output, ['output'], { isText, about: { role: 'tool', tool_call_id: call_id } })];
    case 'local_shell_call_output':
    case 'shell_call_output':
      return [shellTurn(output, ['output'], call_id ?? id)];
    default:
      return [];
  }
}

/** Reads shell output: a text, or stdout and stderr of each command. */
function shellTurn(output: unknown, place: Place, callId: unknown): Turn {
  const about = { role: 'tool', tool_call_id: callId };
  if (!Array.isArray(output)) return turnOf(output, place, { isText, about });
  const content: { type: 'text'; text: string }[] = [];
  const places: Place[] = [];
  for (const [at, printed] of output.entries()) {
    for (const stream of ['stdout', 'stderr']) {
      const text = objectOf(printed)[stream];
      if (typeof text !== 'string') continue;
      content.push({ type: 'text', text });
      places.push([...place, at, stream]);
    }
  }
  return { message: { ...about, content }, places };
}
