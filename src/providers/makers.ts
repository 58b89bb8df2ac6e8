import { PRESETS } from './presets.ts';

const MAKERS = Object.entries(PRESETS).flatMap(([maker, { models }]) => (models ? [{ maker, models }] : []));
const MAX_NAME = 200;

/** The provider whose model names match, with or without a provider prefix: `openai/gpt-4o`. */
export function makerOf(model: string): string | undefined {
  const name = model.slice(model.indexOf('/') + 1);
  if (name.length > MAX_NAME) return undefined;
  return MAKERS.find(({ models }) => models.test(name))?.maker;
}
