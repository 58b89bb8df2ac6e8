import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { messageOf } from '../../errors.ts';
import { isObject } from '../../json/object.ts';
import { plural } from '../../terminal/numbers.ts';
import { clean, safeJson } from '../../terminal/text.ts';
import type { Context } from '../context.ts';
import { CliError } from '../exit.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Answers each line of JSON with a line, in order and at once, until the input ends. A line that fails is answered with
 * `{"id","error"}`, and the command fails at the end. Lines for which `answer` returns undefined get no answer.
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
    const text = answers.map((each) => `${safeJson(each)}\n`).join('');
    if (text !== '' && !context.stdout.write(text)) await once(context.stdout, 'drain');
  }
  if (failures > 0) throw new CliError(`${plural(failures, 'line')} failed; see "error" in the output`);
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

/** The lines of each chunk. node:readline would also split at characters that JSON strings may contain. */
async function* lineBatches(input: Readable): AsyncGenerator<string[]> {
  let partial: string[] = [];
  for await (const chunk of input.setEncoding('utf8') as AsyncIterable<string>) {
    const [first = '', ...others] = chunk.split('\n');
    partial.push(first);
    const rest = others.pop();
    if (rest === undefined) continue;
    yield [partial.join(''), ...others];
    partial = [rest];
  }
  const last = partial.join('');
  if (last !== '') yield [last];
}
