import { libraryModelNames } from '../pricing/library.ts';
import { didYouMean } from '../providers/nearest-names.ts';
import { PRESETS } from '../providers/presets.ts';
import type { Scope } from '../store/budgets/budgets.ts';
import { matchesModel } from '../store/ledger/terms.ts';
import type { Sources } from './sources.ts';

/** What is to be said of a cap for a provider or model that gw knows nothing of: a misspelt one would never fill. */
export async function checkCapped(
  { catalog, now, registry }: Pick<Sources, 'catalog' | 'now' | 'registry'>,
  { kind, value }: Scope,
): Promise<string[]> {
  if (kind !== 'provider' && kind !== 'model') return [];
  const configured = [...(await registry()).providers.keys()];
  const names = [...new Set([...configured, ...Object.keys(PRESETS), 'sandbox'])];
  if (kind === 'provider') {
    if (names.includes(value)) return [];
    return [
      `gw has no provider "${value}", so this cap counts nothing yet.${didYouMean(value, names)} To list them: gw providers list`,
    ];
  }
  const { find } = await catalog();
  const [first = '', ...rest] = value.split('/');
  const isSold = (provider: string): boolean =>
    libraryModelNames(provider).some((model) => matchesModel(value, { provider, model }));
  const mayServe = (provider: string): boolean => {
    // A provider without a list may serve anything that is asked of it, the sandbox only what has its name.
    const isAlone = rest.length === 0 && provider !== 'sandbox' && configured.includes(provider);
    if (first !== provider && !isAlone) return false;
    const model = first === provider ? rest.join('/') : value;
    return libraryModelNames(provider).length === 0 || find(provider, model, now()) !== undefined;
  };
  if (value.startsWith('*') || names.some(isSold) || names.some(mayServe)) return [];
  const known = names.flatMap((name) => libraryModelNames(name).map((model) => `${name}/${model}`));
  return [
    `gw knows no model that "${value}" names, so this cap counts nothing yet.${didYouMean(value, known)} To list models: gw models`,
  ];
}
