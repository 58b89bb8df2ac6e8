import { createReadStream, existsSync, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Form } from '../../compression/turns/turns.ts';
import { messageOf } from '../../errors.ts';
import { isObject } from '../../json/object.ts';
import { scanObject } from '../../json/scan.ts';
import { clean } from '../../terminal/text.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import type { JsonObject } from './jsonl.ts';

/** A request read from a file: a JSON body for any of the APIs, or only its array of messages. */
export interface RequestFile {
  bytes: Buffer;
  /** Messages, or the input items of a Responses request. */
  messages: JsonObject[];
  form: Form;
  /** Byte range of their array. */
  start: number;
  end: number;
  /** The requested model, if the body names one. */
  model: string | undefined;
}

/** Opens an input file; `-`, the default, is stdin. */
export function openInput({ stdin }: Context, file = '-'): Readable {
  if (file === '-') return stdin;
  if (!existsSync(file)) throw new CliError(`there is no file "${file}"`, EXIT.notFound);
  if (statSync(file).isDirectory()) throw usageError(`"${file}" is a folder, not a file`);
  return createReadStream(file);
}

export async function readRequestFile(context: Context, file: string): Promise<RequestFile> {
  const chunks: Buffer[] = [];
  for await (const chunk of openInput(context, file)) chunks.push(Buffer.from(chunk as Buffer | string));
  const bytes = Buffer.concat(chunks);
  const name = file === '-' ? 'stdin' : file;
  const { value, key, start, end } = parse(bytes, name);
  const body: JsonObject = Array.isArray(value) ? { messages: value } : (value as JsonObject);
  const messages = messagesIn(body[key], name);
  const form = FORMS[key] ?? (isAnthropic(body, messages) ? 'messages' : 'chat');
  return {
    bytes,
    messages,
    form,
    start,
    end,
    model: typeof body.model === 'string' ? body.model : undefined,
  };
}

const FORMS: { [K in Parsed['key']]?: Form } = { contents: 'gemini', input: 'responses' };

/** Whether the body has features that only Anthropic's API has. Without them both APIs are read alike. */
function isAnthropic(body: JsonObject, messages: readonly JsonObject[]): boolean {
  const types = ['tool_result', 'tool_use', 'thinking'];
  const isOf = (part: unknown) => types.includes(String((part as { type?: unknown } | null)?.type));
  return 'system' in body || messages.some(({ content }) => Array.isArray(content) && content.some(isOf));
}

/** Checks that a value is an array of objects. `where` names the input in errors. */
export function messagesIn(value: unknown, where: string): JsonObject[] {
  if (!Array.isArray(value)) {
    throw usageError(
      `${where} has no messages: expected {"messages": [...]}, {"input": [...]}, {"contents": [...]} or an array of messages`,
    );
  }
  const invalid = value.findIndex((message) => !isObject(message));
  if (invalid >= 0) throw usageError(`${where}: messages[${invalid}] is not an object`);
  return value as JsonObject[];
}

interface Parsed {
  value: unknown;
  key: 'messages' | 'input' | 'contents';
  start: number;
  end: number;
}

function parse(bytes: Buffer, name: string): Parsed {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    if (Array.isArray(value))
      return { value, key: 'messages', start: bytes.indexOf('['), end: bytes.lastIndexOf(']') + 1 };
    // JSON.parse takes the last of two members with the same name.
    const members = scanObject(bytes);
    const find = (name: string) => members.findLast(({ key }) => key === name);
    const key = (['messages', 'input', 'contents'] as const).find(find) ?? 'messages';
    const { start = 0, end = 0 } = find(key) ?? {};
    return { value, key, start, end };
  } catch (error) {
    throw usageError(`${name} is not a JSON object or array: ${clean(messageOf(error))}`);
  }
}
