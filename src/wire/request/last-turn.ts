import { hash } from 'node:crypto';
import type { WireRequest } from './wire-request.ts';

/** The end of a conversation, as far as it tells a loop from work. */
export interface LastTurn {
  /** The same for turns that differ only in the ids of their tool calls. */
  hash: string;
  /** Whether the turn is the result of a tool, and that of one that failed. */
  tool: 'ok' | 'failed' | undefined;
}

const CONVERSATION = ['messages', 'input', 'contents'];
/** A turn begins at most this far before the end; of a longer one, the rest is left out. */
const MAX_TURN_BYTES = 64 * 1024;
/** How much is read at each end of a turn. */
const END_BYTES = 1_024;
/** What a turn begins with. Within a string the quotes are escaped, so neither is text. */
const [ROLE, OUTPUT] = [Buffer.from('"role"'), Buffer.from('"function_call_output"')] as const;

/**
 * The last turn of a request; undefined without a conversation. Looks for its start in the last 64 kB, reads 2 kB of it at
 * most, and parses nothing.
 */
export function lastTurn({ bytes, members }: Pick<WireRequest, 'bytes' | 'members'>): LastTurn | undefined {
  const conversation = members.find(({ key }) => CONVERSATION.includes(key));
  if (!conversation) return undefined;
  const { start, end } = conversation;
  const near = bytes.subarray(Math.max(start, end - MAX_TURN_BYTES), end);
  const message = near.subarray(Math.max(0, near.lastIndexOf(ROLE)));
  const turn = message.subarray(Math.max(0, message.lastIndexOf(OUTPUT)));
  const head = turn.toString('latin1', 0, END_BYTES);
  const tail =
    turn.length > END_BYTES ? turn.toString('latin1', Math.max(END_BYTES, turn.length - END_BYTES)) : '';
  const text = (head + tail).replace(CALL_ID, '');
  return { hash: hash('sha1', text, 'base64').slice(0, 16), tool: toolOf(text) };
}

const CALL_ID = /"(?:tool_use_id|tool_call_id|call_id|id)"\s?:\s?"[^"]{0,128}"/g;

const RESULT = /"tool_result"|"role"\s?:\s?"(?:tool|function)"|"function_call_output"|"functionResponse"/;

/**
 * How a failed tool shows: by the field of Anthropic's API, by the exit code that shells of agents report, or by the
 * first word of its output. https://docs.anthropic.com/en/api/messages#body-messages,
 * https://github.com/openai/codex/blob/main/codex-rs/core/src/tools/mod.rs
 */
const FAILED =
  /"is_error"\s?:\s?true|exit(?:ed with)?[ _]code\\?"?:? ?-?[1-9]|"(?:content|output|text|error)"\s?:\s?"(?:<[a-z_]{1,20}>|\\n|\s){0,4}(?:error|fatal|traceback|failed|permission denied|command not found)/i;

function toolOf(text: string): LastTurn['tool'] {
  if (!RESULT.test(text)) return undefined;
  return FAILED.test(text) ? 'failed' : 'ok';
}
