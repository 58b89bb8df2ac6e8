import { refusals } from '../refusals.ts';

export const { cannotExpress, refuseRest } = refusals("OpenAI's API, which this model's provider has");
