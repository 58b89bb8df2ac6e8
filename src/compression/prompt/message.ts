import { orElse } from '../../errors.ts';

/** A chat message as parsed from JSON. gw reads a few of its fields and keeps the rest. */
export type Message = Readonly<Record<string, unknown>>;

/** A tool call, reduced to what helps to interpret its result. */
export interface ToolCall {
  name: string;
  /** The arguments as JSON text. */
  args: string;
}

export const roleOf = (message: Message): string => (typeof message.role === 'string' ? message.role : '');

/** The texts of a message in order: its content, or its text parts. */
export function textsOf(message: Message): string[] {
  const { content } = message;
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) return [];
  return content.map(textOfPart).filter((text) => text !== undefined);
}

/** The message with each text mapped; the same object if none changed. */
export function mapTexts(message: Message, change: (text: string) => string): Message {
  const { content } = message;
  if (typeof content === 'string') {
    const changed = change(content);
    return changed === content ? message : { ...message, content: changed };
  }
  if (!Array.isArray(content)) return message;
  let same = true;
  const parts = content.map((part: unknown) => {
    const text = textOfPart(part);
    if (text === undefined) return part;
    const changed = change(text);
    if (changed === text) return part;
    same = false;
    return { ...(part as object), text: changed };
  });
  return same ? message : { ...message, content: parts };
}

function textOfPart(part: unknown): string | undefined {
  if (typeof part !== 'object' || part === null) return undefined;
  const { type, text } = part as { type?: unknown; text?: unknown };
  return type === 'text' && typeof text === 'string' ? text : undefined;
}

/** The tool calls of an assistant message by id. */
export function toolCallsOf(message: Message): Map<string, ToolCall> {
  const calls = new Map<string, ToolCall>();
  if (!Array.isArray(message.tool_calls)) return calls;
  for (const call of message.tool_calls as unknown[]) {
    const { id, function: called } = (call ?? {}) as { id?: unknown; function?: unknown };
    const { name, arguments: args } = (called ?? {}) as { name?: unknown; arguments?: unknown };
    if (typeof id === 'string') {
      calls.set(id, {
        name: typeof name === 'string' ? name : '',
        args: typeof args === 'string' ? args : '',
      });
    }
  }
  return calls;
}

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
  const parsed: Record<string, unknown> | null = orElse(() => JSON.parse(args), null);
  const key = FILE_KEYS.find((name) => typeof parsed?.[name] === 'string');
  return key === undefined ? undefined : String(parsed?.[key]);
}
