import { Writable } from 'node:stream';
import type { Context } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';

/** Whether stdin is a terminal, so that a person can answer. */
export const canAsk = ({ stdin }: Context): boolean => stdin.isTTY === true;

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

/**
 * Asks before something is lost. `loss` is a sentence that says what. Without a terminal it takes `--yes`, or nothing
 * where `scripted`: scripts have run these commands since 0.1.0, which had no such option. Throws if the answer is no.
 */
export async function confirmLoss(
  context: Context,
  loss: string,
  { yes = false, scripted = false }: { yes?: boolean | undefined; scripted?: boolean },
): Promise<void> {
  if (yes || (scripted && !canAsk(context))) return;
  if (!canAsk(context)) throw usageError(`${loss} To go ahead, add --yes`);
  await confirm(context, `${loss} Go ahead? [y/N] `);
}

/** Asks a question. Throws if the answer is not yes. */
export async function confirm(context: Context, question: string): Promise<void> {
  if (!/^y(es)?$/i.test(await ask(context, question))) throw new CliError('nothing was changed');
}

/** Reads a passphrase: from stdin with `stdin`, else from the terminal. */
export async function readPassphrase(
  context: Context,
  { stdin = false, twice = false, hint }: { stdin?: boolean | undefined; twice?: boolean; hint: string },
): Promise<string> {
  if (stdin) return readSecret(context);
  if (!canAsk(context)) throw usageError(`no terminal to ask for the passphrase on: ${hint}`);
  const passphrase = await askHidden(context, 'Passphrase: ');
  if (twice && (await askHidden(context, 'Again: ')) !== passphrase)
    throw usageError('the two passphrases differ; nothing was written');
  return passphrase;
}
