from planner.mechanisms.direct import GeneralizedRandomizedResponse
from tests.mechanisms.single_item import BAD_ITEMS, SingleItemSuite


class TestGeneralizedRandomizedResponse(SingleItemSuite):
    def mechanism(self):
        return GeneralizedRandomizedResponse(self.budget, self.items)

    def bad_reports(self):
        return BAD_ITEMS
