import { type Message, roleOf, type ToolCall, textsOf } from './message.ts';

/** The source of a message's text, which decides what may be done with it. */
export interface Origin {
  role: 'system' | 'user' | 'assistant' | 'tool';
  /** How a later message refers to it, such as by the tool call that it answers. */
  source: string;
  /** The path of the file that was read. Its lines may be edited next. */
  path?: string;
}

const MAX_ARGS = 100;
/** An answer is named by this many of its first characters. */
const MAX_NAME = 40;
/** Extensions of files that contain records rather than source: read, not edited. */
const DATA_FILE = /\.(?:log|out|err|txt|csv|tsv|jsonl|ndjson)(?:\.\d+)?$/i;
const FILE_KEYS = ['path', 'file', 'file_path', 'filename', 'filepath', 'target_file', 'uri'];
const READ = /read|open|cat|view|get_?file|show|fetch_?file|load/i;

/** The source of a message's text; undefined for roles whose text never changes. */
export function originOf(message: Message, calls: ReadonlyMap<string, ToolCall>): Origin | undefined {
  const role = roleOf(message);
  if (role === 'system' || role === 'developer') return { role: 'system', source: 'the system message' };
  if (role === 'assistant') {
    // Text beside a tool call is part of the agent's reasoning, and stays.
    return message.tool_calls === undefined ? { role, source: nameOf(message) } : undefined;
  }
  if (role === 'user') return { role, source: 'the block' };
  if (role !== 'tool' && role !== 'function') return undefined;
  const call = typeof message.tool_call_id === 'string' ? calls.get(message.tool_call_id) : undefined;
  if (!call) return { role: 'tool', source: 'the tool result' };
  const start = startOf(call.args, MAX_ARGS).replace(/\s+/g, ' ');
  const args = call.args.length > MAX_ARGS ? `${start}…` : start;
  const path = pathOf(call.args);
  const isFile = path !== undefined && READ.test(call.name) && /\.\w+$/.test(path) && !DATA_FILE.test(path);
  const source = `the result of ${call.name} ${args}`;
  return { role: 'tool', source, ...(isFile ? { path } : {}) };
}

/** Names an answer by its first words. */
function nameOf(message: Message): string {
  const start = startOf((textsOf(message)[0] ?? '').trimStart(), MAX_NAME);
  return `the answer "${start.split('\n', 1)[0]?.trimEnd()}…"`;
}

/** The first characters of a text, without splitting a surrogate pair. */
function startOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}

function pathOf(args: string): string | undefined {
  try {
    const parsed = JSON.parse(args) as Record<string, unknown> | null;
    const key = FILE_KEYS.find((name) => typeof parsed?.[name] === 'string');
    return key === undefined ? undefined : String(parsed?.[key]);
  } catch {
    return undefined;
  }
}
