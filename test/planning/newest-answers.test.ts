import { expect, it } from '@jest/globals';
import { newestAnswers } from '../../shared/planning/newest-answers.ts';
import { ownersAmong } from '../../shared/records/record-keys.ts';
import { recordListOf } from '../../shared/records/record-list.ts';

it('I1: the newest slice that found a record of the upstream day has the answer that stays', () => {
  const upstream = new Map([
    ['7', {}],
    ['08', {}],
  ]);
  const ofSlice = newestAnswers('click', ownersAmong(upstream));
  const stays = (...clicks: string[]) => {
    const isNewest = ofSlice()(recordListOf(clicks.map((click) => ({ click }))));
    return clicks.filter((_click, index) => isNewest(index));
  };
  expect([stays('7', '7', '9'), stays('7', '8', '9'), stays('7', '08')]).toEqual([['7', '7'], ['8'], []]);
});
