import { refusals } from '../refusals.ts';

export const { cannotExpress, refuseRest } = refusals("in OpenAI's API, which this model is reached by");
