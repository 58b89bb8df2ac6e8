import { badRequest } from '../errors.ts';
import { libraryModelNames } from '../pricing/library.ts';
import { didYouMean } from '../providers/nearest-names.ts';
import { PRESETS } from '../providers/presets.ts';
import { findModel } from '../providers/sandbox/model.ts';
import type { Scope } from '../store/budgets/budgets.ts';
import { matchesModel } from '../store/ledger/terms.ts';
import type { Sources } from './sources.ts';

type Known = Pick<Sources, 'catalog' | 'now' | 'registry' | 'settings'>;

/**
 * Checks the cheaper models of a budget. Throws GwError 400 for one that nothing serves; returns what is to be said of those
 * that may exist at a provider without a list, but have no price, so that no request goes there.
 */
export async function checkCheaperModels(
  { catalog, now, registry, settings }: Known,
  names: readonly string[],
) {
  const { providers } = await registry();
  const { find } = await catalog();
  const { aliases } = settings();
  const warnings: string[] = [];
  for (const name of names) {
    if (Object.hasOwn(aliases, name)) continue;
    const slash = name.indexOf('/');
    const [of, model] = slash > 0 ? [name.slice(0, slash), name.slice(slash + 1)] : ['', name];
    const provider = providers.get(of);
    const serving = provider ? [provider] : of === '' ? [...providers.values()] : [];
    const listed =
      of === '' ? serving.flatMap((each) => libraryModelNames(each.name)) : libraryModelNames(of);
    if (of === 'sandbox') mustBeInSandbox(model);
    else if (serving.some((each) => find(each.name, model, now()) !== undefined)) continue;
    else if (provider && listed.length === 0) warnings.push(unpriced(name));
    else if (!provider && (listed.length === 0 ? Object.hasOwn(PRESETS, of) : listed.includes(model)))
      warnings.push(`no request goes to ${name} until gw has its provider: gw providers add ${of}`);
    else throw unserved(name, of) ?? unknownModel(name, model, [...listed, ...Object.keys(aliases)]);
  }
  return warnings;
}

const unpriced = (name: string): string =>
  `gw has no price of ${name}, so no request goes there until it has: gw prices set ${name} --input 1 --output 4`;

function mustBeInSandbox(model: string): void {
  try {
    findModel(model);
  } catch (error) {
    throw badRequest(error instanceof Error ? error.message : String(error), 'fallback');
  }
}

/** A model that is sold somewhere, alone, where no provider of gw serves it. */
function unserved(name: string, provider: string) {
  const [seller] =
    provider === '' ? Object.keys(PRESETS).filter((each) => libraryModelNames(each).includes(name)) : [];
  if (seller === undefined) return undefined;
  return badRequest(
    `no provider of gw serves ${name} yet. Name one, such as ${seller}/${name}, or add it: gw providers add ${seller}`,
    'fallback',
  );
}

function unknownModel(name: string, model: string, known: readonly string[]) {
  return badRequest(
    `nothing is known of the model "${name}", neither where it is served nor its price.${didYouMean(model, known)} To list models: gw models. To set a price: gw prices set ${name} --input 1 --output 4`,
    'fallback',
  );
}

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
