import { createReadStream, existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { messageOf } from '../errors.ts';
import { scanObject } from '../json/scan.ts';
import type { Context } from './context.ts';
import { CliError, EXIT, usageError } from './exit.ts';
import type { JsonObject } from './jsonl.ts';
import { clean } from './output/text.ts';

/** A request as it stands in a file: a JSON body with messages, or the array of messages alone. */
export interface RequestFile {
  bytes: Buffer;
  messages: JsonObject[];
  /** Where in the bytes the array of messages begins. */
  messagesAt: number;
  /** The model that it asks for, where it says so. */
  model: string | undefined;
}

/** A file that a command reads; `-`, and nothing for a command that goes on, is stdin. */
export function openInput({ stdin }: Context, file = '-'): Readable {
  if (file === '-') return stdin;
  if (!existsSync(file)) throw new CliError(`there is no file "${file}"`, EXIT.notFound);
  return createReadStream(file);
}

export async function readRequestFile(context: Context, file: string): Promise<RequestFile> {
  const chunks: Buffer[] = [];
  for await (const chunk of openInput(context, file)) chunks.push(Buffer.from(chunk as Buffer | string));
  const bytes = Buffer.concat(chunks);
  const name = file === '-' ? 'stdin' : file;
  const { value, messagesAt } = parse(bytes, name);
  const body = Array.isArray(value)
    ? { messages: value }
    : (value as { messages?: unknown; model?: unknown });
  return {
    bytes,
    messages: messagesIn(body.messages, name),
    messagesAt,
    model: typeof body.model === 'string' ? body.model : undefined,
  };
}

/** Chat messages, of which nothing more is known than that they are objects. `where` is for the message. */
export function messagesIn(value: unknown, where: string): JsonObject[] {
  if (!Array.isArray(value)) {
    throw usageError(
      `${where} holds no messages: it must be {"messages": [...]} or the array of messages alone`,
    );
  }
  const wrong = value.findIndex((message) => typeof message !== 'object' || message === null);
  if (wrong >= 0) throw usageError(`${where}: messages[${wrong}] is not an object`);
  return value as JsonObject[];
}

function parse(bytes: Buffer, name: string): { value: unknown; messagesAt: number } {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    if (Array.isArray(value)) return { value, messagesAt: bytes.indexOf('[') };
    // Of two members of a name JSON.parse takes the last.
    const member = scanObject(bytes).findLast(({ key }) => key === 'messages');
    return { value, messagesAt: member?.start ?? 0 };
  } catch (error) {
    throw usageError(`${name} is no JSON object or array: ${clean(messageOf(error))}`);
  }
}
