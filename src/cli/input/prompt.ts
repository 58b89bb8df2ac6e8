import { Writable } from 'node:stream';
import type { Context } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';

/** Whether stdin is a terminal, so that a person can answer. */
export function canAsk({ stdin }: Context): boolean {
  return stdin.isTTY === true;
}

/** Prompts on the terminal. Ctrl-C and Ctrl-D end the command with exit code 130. */
export function ask(context: Context, question: string): Promise<string> {
  return readAnswer(context, question, context.stderr);
}

/** Like `ask`, without echoing the input. */
export async function askHidden(context: Context, question: string): Promise<string> {
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
  try {
    return await readAnswer(context, question, discard);
  } finally {
    context.stderr.write('\n');
  }
}

async function readAnswer(context: Context, question: string, echo: Writable): Promise<string> {
  const { createInterface } = await import('node:readline');
  context.stderr.write(question);
  const reader = createInterface({ input: context.stdin, output: echo, terminal: true, historySize: 0 });
  return new Promise((resolve, reject) => {
    reader.once('line', (line) => {
      resolve(line.trim());
      reader.close();
    });
    // Ctrl-C, Ctrl-D and the end of the input all close the reader. After an answer, rejecting has no effect.
    reader.once('close', () => {
      reject(new CliError('interrupted; nothing was changed', EXIT.interrupted));
    });
  });
}

/** Reads all of stdin as one secret, without surrounding whitespace such as the newline of `echo`. */
export async function readSecret({ stdin }: Context): Promise<string> {
  let text = '';
  for await (const chunk of stdin) text += chunk;
  return text.trim();
}
