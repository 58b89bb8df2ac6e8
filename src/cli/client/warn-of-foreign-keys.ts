import { foreignKeys } from '../../agents/run/environment.ts';
import { type Context, note } from '../context.ts';

/** Names the keys in the environment with which a program would call a provider directly. */
export function warnOfForeignKeys(context: Context): void {
  const names = foreignKeys(context.env);
  if (names.length === 0) return;
  note(
    context,
    `warning: ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} set: what uses ${names.length === 1 ? 'it' : 'them'} goes around gw, uncounted`,
  );
}
