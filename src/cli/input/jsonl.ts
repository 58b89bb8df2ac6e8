import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { messageOf } from '../../errors.ts';
import { isObject } from '../../json/object.ts';
import { plural } from '../../terminal/numbers.ts';
import { clean } from '../../terminal/text.ts';
import type { Context } from '../context.ts';
import { CliError, usageError } from '../exit.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Answers each line of JSON with one, in order, as it comes, until the input ends. A line that cannot be answered
 * gets `{"id","error"}`, and makes the command fail in the end. `undefined` is no answer.
 */
export async function answerLines(
  context: Context,
  input: Readable,
  answer: (question: JsonObject) => JsonObject | undefined,
): Promise<void> {
  let failures = 0;
  for await (const lines of lineBatches(input)) {
    const answers = lines.map((line) => answerLine(line, answer)).filter((each) => each !== undefined);
    failures += answers.filter((each) => 'error' in each).length;
    const text = answers.map((each) => `${JSON.stringify(each)}\n`).join('');
    if (text !== '' && !context.stdout.write(text)) await once(context.stdout, 'drain');
  }
  if (failures > 0) throw new CliError(`${plural(failures, 'line')} failed; see "error" in the output`);
}

/** What the lines of a file say, by `read`; the number of a line that says nothing goes into the message. */
export async function readLines<T>(input: Readable, read: (object: JsonObject) => T): Promise<T[]> {
  const found: T[] = [];
  let number = 0;
  for await (const lines of lineBatches(input)) {
    for (const line of lines) {
      number += 1;
      if (line.trim() !== '') found.push(readLine(line, number, read));
    }
  }
  return found;
}

function readLine<T>(line: string, number: number, read: (object: JsonObject) => T): T {
  try {
    return read(parseObject(line));
  } catch (error) {
    throw usageError(`line ${number}: ${messageOf(error)}`);
  }
}

function answerLine(
  line: string,
  answer: (question: JsonObject) => JsonObject | undefined,
): JsonObject | undefined {
  if (line.trim() === '') return undefined;
  let id: unknown = null;
  try {
    const question = parseObject(line);
    id = question.id ?? null;
    return answer(question);
  } catch (error) {
    return { id, error: messageOf(error) };
  }
}

function parseObject(line: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new CliError(`not JSON: ${clean(messageOf(error))}`);
  }
  if (!isObject(value)) throw new CliError('not a JSON object');
  return value;
}

/** The lines of each chunk. Not node:readline, which also ends lines at characters that may stand within JSON. */
async function* lineBatches(input: Readable): AsyncGenerator<string[]> {
  let begun: string[] = [];
  for await (const chunk of input.setEncoding('utf8') as AsyncIterable<string>) {
    const [first = '', ...others] = chunk.split('\n');
    begun.push(first);
    const rest = others.pop();
    if (rest === undefined) continue;
    yield [begun.join(''), ...others];
    begun = [rest];
  }
  const last = begun.join('');
  if (last !== '') yield [last];
}
