import type { Context } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { ask, askHidden, canAsk, readSecret } from './prompt.ts';

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
  const answer = await ask(context, `${loss} Go ahead? [y/N] `);
  if (!/^y(es)?$/i.test(answer)) throw new CliError('nothing was changed', EXIT.failure);
}

/** Reads a passphrase: from stdin if that was asked for, else from the terminal. */
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
