import { refusals } from '../refusals.ts';

export const { cannotExpress, refuseRest } = refusals("Anthropic's API, which this model's provider has");
