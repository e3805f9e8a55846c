-- Copies that a synthetic world plants, and how many of them were found.
-- One row per searched set, in the order of the view `searched_sets`.
--
-- planted        searched, planted, candidates, verified, named, candidates_besides,
--                verified_besides
-- searched_sets  position, testset, title: test sets, and the training corpus itself
select
    searched_sets.position,
    planted.searched,
    searched_sets.title as searched_title,
    planted.planted, -- training images that copy an image of it
    planted.candidates, -- of these, proposed as candidates
    planted.verified, -- of these, called copies
    planted.named, -- of these, called identical, re-encoded or resized, as planted
    planted.candidates_besides, -- candidate pairs that are not copies
    planted.verified_besides, -- of these, called copies
from planted
inner join searched_sets on searched_sets.testset = planted.searched
order by searched_sets.position
